// What the question `graph` is asked with for the map, now and at an earlier moment.
import type { View } from './view';

const MAP_NODES = 300;

/** also: groups that are opened although nobody asked for it. */
export const mapAsked = (view: View, asOf: string, also: readonly string[] = []) => ({
  groups: view.group, expand: [...new Set([...view.opened, ...also])], limit: MAP_NODES, view: view.every ? 'all' : '', asOf, system: view.asked.system,
}); // prettier-ignore
