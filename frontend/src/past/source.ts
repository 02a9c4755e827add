// The past over HTTP: the period of the log, snapshots of moments and chunks of events.
import type { Chunk, PastSnapshot, Period } from './protocol';

/** The server's sentence about what it could not do; `status` 0 when it was not reached. */
export class Failed extends Error {
  constructor(readonly status: number, message: string) { super(message); }
}

export interface Addresses { snapshot: string; replay: string; period: string }

export class Source {
  constructor(private readonly addresses: Addresses, private readonly key: () => string) {}

  period(): Promise<Period> { return get(this.addresses.period, {}); }

  snapshot(at: number | string): Promise<PastSnapshot> { return get(this.addresses.snapshot, { at: String(at), key: this.key() }); }

  chunk(after: number, limit: number, epoch: number): Promise<Chunk> {
    return get(this.addresses.replay, { after: String(after), limit: String(limit), key: this.key(), epoch: epoch < 0 ? '' : String(epoch) });
  }
}

async function get<T>(path: string, query: Record<string, string>): Promise<T> {
  const url = new URL(path, location.href);
  for (const [name, value] of Object.entries(query)) if (value) url.searchParams.set(name, value);
  const language = document.documentElement.lang;
  const response = await fetch(url, { credentials: 'same-origin', cache: 'no-cache', headers: { Accept: 'application/json', 'Accept-Language': language } })
    .catch((error: unknown) => { throw new Failed(0, String(error)); });
  if (!response.ok || response.redirected) {
    const told = await response.json().catch(() => null) as { message?: string } | null;
    throw new Failed(response.status, told?.message ?? `HTTP ${response.status}`);
  }
  return (await response.json()) as T;
}
