// The parameters of the question `graph` for the map of groups.
import type { View } from './view';

const MAP_NODES = 300;

/** also: groups that the page opens automatically. */
export const mapParameters = (view: View, asOf: string, also: readonly string[] = []) => ({
  groups: view.group, expand: [...new Set([...view.opened, ...also])], limit: MAP_NODES, view: view.every ? 'all' : '', asOf, system: view.parameters.system,
}); // prettier-ignore
