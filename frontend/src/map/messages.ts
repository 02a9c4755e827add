// Every sentence of the map. The page gives them in its language as JSON in <script id="map-messages">, all of them
// (scheduling/console/map_messages.py); a key without one is shown as it is. {braces} are placeholders.
export type Key =
  | 'domain' // {domain} · nodes: {nodes} · GPUs free: {free}/{gpus}
  | 'unlabelled' // no {key} label
  | 'node' // {node} · {domain} · GPUs free: {free}/{gpus}
  | 'cordoned' // cordoned
  | 'notReady' // not ready
  | 'tainted' // tainted
  | 'nodeIs' // {node} {state}
  | 'held' // {held} of them held by reservations
  | 'more' // {count} more
  | 'fits' // members that fit: {fits} of {need}
  | 'rank' // rank {rank}
  | 'holders' // held by {groups}
  | 'noGroup' // pods of no PodGroup
  | 'matches' // nodes that match: {count}
  | 'changed' // nodes that changed: {count}
  | 'loading' // Loading the map…
  | 'empty' // No nodes yet.
  | 'emptyHint' // Import a cluster to see its racks.
  | 'failed' // The map could not be loaded.
  | 'signedOut' // You are signed out, or may not see this cluster.
  | 'retry' // Retry
  | 'zoomIn' // Zoom in
  | 'zoomOut' // Zoom out
  | 'fit' // Show all
  | 'openNode' // Open node
  | 'openDomain' // Open domain
  | 'pick' // Highlight
  | 'unpick' // Clear highlight
  | 'column_group' // PodGroup
  | 'column_gpus' // GPUs
  | 'column_node' // Node
  | 'column_free' // Free
  | 'others' // others
  | 'pastEvent' // event {seq}
  | 'pastAhead' // Live has moved on by {count} events.
  | 'pastAheadOne' // Live has moved on by 1 event.
  | 'pastAheadNone' // Nothing has happened since.
  | 'pastValue' // Event {seq}, {time}: {sentence}
  | 'pastPlay' // Play
  | 'pastStop' // Stop
  | 'pastLoading' // Loading this moment…
  | 'pastFailed' // This moment could not be loaded: {error}
  | 'pastCounts' // Nodes: {all}. Added: {added}, removed: {removed}, …
  | 'pastChanged' // at event {a}: {before} — at event {b}: {after}
  | 'pastAbsent' // not there
  | 'pairChanged'; // before: {before} — after: {after}

export class Messages {
  private readonly number: Intl.NumberFormat;

  constructor(private readonly texts: Partial<Record<Key, string>>, lang: string) {
    this.number = new Intl.NumberFormat(lang || undefined);
  }

  say(key: Key, values: Record<string, string | number> = {}): string {
    return (this.texts[key] ?? key).replace(/\{(\w+)\}/g, (whole, name: string) => {
      const value = values[name];
      return value === undefined ? whole : typeof value === 'number' ? this.count(value) : value;
    });
  }

  count(value: number): string { return this.number.format(value); }
}

export function pageMessages(): Messages {
  const block = document.getElementById('map-messages')?.textContent;
  return new Messages(block ? (JSON.parse(block) as Partial<Record<Key, string>>) : {}, document.documentElement.lang);
}
