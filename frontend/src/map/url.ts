// What of the map is in the address: key, color, q, pg, sel. Written with replaceState, so Back leaves the map.
export interface ViewState { key: string; color: 'occupancy' | 'podgroup'; q: string; pg: string; sel: string }

export function read(search: string): ViewState {
  const query = new URLSearchParams(search);
  return {
    key: query.get('key') ?? '',
    color: query.get('color') === 'podgroup' ? 'podgroup' : 'occupancy',
    q: query.get('q') ?? '',
    pg: query.get('pg') ?? '',
    sel: query.get('sel') ?? '',
  };
}

/** The query string with the state in it; what is empty or the default is left out, foreign parameters stay. */
export function written(search: string, state: ViewState): string {
  const query = new URLSearchParams(search);
  for (const [name, value] of Object.entries(state)) {
    if (value && !(name === 'color' && value === 'occupancy')) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  return text ? `?${text}` : '';
}
