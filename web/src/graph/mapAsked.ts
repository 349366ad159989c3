// What the question `graph` is asked with for the map, now and at an earlier moment.
import type { View } from './view';

const MAP_NODES = 300;

export const mapAsked = (view: View, asOf: string) => ({
  groups: view.group, expand: [...view.opened], limit: MAP_NODES, view: view.every ? 'all' : '', asOf, system: view.asked.system,
}); // prettier-ignore
