// The map's three questions over HTTP.
import type { Candidates } from './describe';
import type { Source } from './feed';
import type { Delta, Snapshot } from './protocol';

export class Refused extends Error {}

async function get(url: URL): Promise<Response> {
  const response = await fetch(url, { credentials: 'same-origin', cache: 'no-cache', headers: { Accept: 'application/json' } });
  if (response.status === 401 || response.status === 403 || response.redirected) throw new Refused(`HTTP ${response.status}`);
  return response;
}

async function json<T>(response: Response): Promise<T> {
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  return (await response.json()) as T;
}

export function source(snapshotUrl: string, deltasUrl: string, key: () => string): Source {
  const at = (path: string, query: Record<string, string>): URL => {
    const url = new URL(path, location.href);
    for (const [name, value] of Object.entries(query)) if (value) url.searchParams.set(name, value);
    return url;
  };
  return {
    async snapshot() { return json<Snapshot>(await get(at(snapshotUrl, { key: key() }))); },
    async deltas(since) {
      const response = await get(at(deltasUrl, { since: String(since), key: key() }));
      return response.status === 410 ? null : json<Delta>(response);
    },
  };
}

interface Explanation { need?: number; domains?: { domain: string; fits: number }[] }

/** Domains for a group, best first; null when the console has no explanation for it. */
export async function candidates(address: string): Promise<Candidates | null> {
  const response = await get(new URL(address, location.href));
  if (response.status === 404) return null;
  const body = await json<Explanation>(response);
  return { need: body.need ?? 0, domains: body.domains ?? [] };
}
