// The past of the map: a module of its own, which entries/map.ts loads only on a page of the past.
export { start } from '../past/past';
