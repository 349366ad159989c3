import { HealthLegend } from './HealthBadge';

export function Legend() {
  return (
    <details className="legend">
      <summary>Legend</summary>
      <ul className="plain">
        <li><span className="sample" /> direct: passes values</li>
        <li><span className="sample indirect" /> indirect: filters, joins, groups or sorts</li>
        <li><span className="sample masked" /> masks values; a column has the mark “masked” if every path between it and the selected column has such a step</li>
        <li><span className="exposure-dot is-exposed" /> <span className="exposure-dot is-masked" /> <span className="exposure-dot is-unknown" /> with “Personal data”: a column that is readable, masked, or not proven to be masked</li>
        <li><span className="sample opaque" /> columns unknown: the job reports only datasets</li>
        <li><span className="sample added" /> + added since the earlier time</li>
        <li><span className="sample removed" /> − removed since then</li>
        <HealthLegend />
      </ul>
    </details>
  );
}

/** The legend of the job graph. */
export function FlowLegend() {
  return (
    <details className="legend" open>
      <summary>Legend</summary>
      <ul className="plain">
        <li><span className="sample" /> data flow: one job writes datasets that the other reads; the label is their number</li>
        <li><span className="sample control" /> control flow: one job waits for the other, as reported by the orchestrator (<code>jobDependencies</code>)</li>
        <HealthLegend />
      </ul>
    </details>
  );
}
