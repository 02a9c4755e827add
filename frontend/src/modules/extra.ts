// What the map needs only once somebody searches, selects or asks for other colours: a module that it loads then.
export { Detail } from '../map/detail';
export { legend, largestGroups } from '../map/groups';
export { nextAnomaly } from '../map/anomaly';
export { parse } from '../map/search';
