// Text of Headwater's own that marks what is typed by backticks.

export function Prose({ text }: { text: string }) {
  return <>{text.split('`').map((part, at) => (at % 2 ? <code key={at}>{part}</code> : part))}</>;
}
