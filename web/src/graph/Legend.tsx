import { HealthLegend } from './HealthBadge';

export function Legend() {
  return (
    <details className="legend">
      <summary>What the lines mean</summary>
      <ul className="plain">
        <li><span className="sample" /> a value goes on</li>
        <li><span className="sample indirect" /> INDIRECT: it filters, joins, groups or sorts</li>
        <li><span className="sample masked" /> a step that masks, labelled so; a column is “masked on the way” where every way between it and the asked one has such a step</li>
        <li><span className="sample opaque" /> without columns: nobody says which</li>
        <li><span className="sample added" /> + new since the earlier date</li>
        <li><span className="sample removed" /> − gone since then</li>
        <HealthLegend />
      </ul>
    </details>
  );
}

/** Of the graph of jobs. */
export function FlowLegend() {
  return (
    <details className="legend" open>
      <summary>What the lines mean</summary>
      <ul className="plain">
        <li><span className="sample" /> data: one writes what the other reads; the number says how many datasets</li>
        <li><span className="sample control" /> control: it waits for the other, as their orchestrator says (<code>jobDependencies</code>); no data need pass</li>
        <HealthLegend />
      </ul>
    </details>
  );
}
