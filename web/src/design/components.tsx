// The components of the pages. /design shows them all; web/DESIGN.md says when to use which.
import type { ReactNode } from 'react';
import { Link } from 'react-router';

import { Icon } from './Icon';
import type { IconName } from './icons';

interface ButtonProps {
  icon?: IconName;
  /** quiet: without a border, for actions that are not the main one. primary: at most one in a section. */
  look?: 'quiet' | 'primary';
  title?: string;
  disabled?: boolean;
  isPressed?: boolean;
  onClick: () => void;
  children: ReactNode;
}

export function Button({ icon, look, title, disabled, isPressed, onClick, children }: ButtonProps) {
  return (
    <button type="button" className={look} title={title} disabled={disabled} aria-pressed={isPressed} onClick={onClick}>
      {icon && <Icon name={icon} />}<span>{children}</span>
    </button>
  );
}

/** A button that shows only an icon. label: its name, also shown as a tooltip. */
export function IconButton({ icon, label, onClick, expanded }: { icon: IconName; label: string; onClick: () => void; expanded?: boolean }) {
  return <button type="button" className="quiet icon-button" aria-label={label} title={label} aria-expanded={expanded} onClick={onClick}><Icon name={icon} /></button>;
}

export type Tone = 'good' | 'warn' | 'bad' | 'accent' | 'plain';

export function Badge({ tone = 'plain', icon, title, children }: { tone?: Tone; icon?: IconName; title?: string; children: ReactNode }) {
  return <span className={`chip is-${tone}`} title={title}>{icon && <Icon name={icon} size={12} />}<bdi>{children}</bdi></span>;
}

interface StatProps {
  label: string;
  value: string;
  tone?: Tone;
  /** An address, or `#id` of a section of the same page. */
  link?: string;
  children?: ReactNode;
}

/** One number with its label, and a hint below it. */
export function Stat({ label, value, tone = 'plain', link, children }: StatProps) {
  return (
    <div className={`stat is-${tone}`}>
      <div className="stat-label">{label}</div>
      <div className="stat-value">{link === undefined ? value : link.startsWith('#') ? <a href={link}>{value}</a> : <Link to={link}>{value}</Link>}</div>
      {children !== undefined && <div className="stat-hint">{children}</div>}
    </div>
  );
}

/** A row of numbers. */
export const Stats = ({ children }: { children: ReactNode }) => <div className="stats">{children}</div>;

interface AnswerProps {
  question: string;
  icon: IconName;
  tone?: Tone;
  /** The answer in at most four words. */
  answer: ReactNode;
  /** What the answer rests on. */
  children?: ReactNode;
}

/** A question with its answer, and below it the evidence. */
export function AnswerCard({ question, icon, tone = 'plain', answer, children }: AnswerProps) {
  return (
    <section className={`answer is-${tone}`} aria-label={question}>
      <h2><Icon name={icon} /> {question}</h2>
      <p className="answer-text">{answer}</p>
      {children}
    </section>
  );
}

/** What a place without data would show, and how to get it. */
export function EmptyState({ icon, title, children, action }: { icon: IconName; title: string; children: ReactNode; action?: ReactNode }) {
  return (
    <div className="empty-state">
      <Icon name={icon} size={28} />
      <p className="strong">{title}</p>
      <p className="dim">{children}</p>
      {action}
    </div>
  );
}

interface TabsProps<T extends string> {
  label: string;
  tabs: readonly (readonly [id: T, title: string])[];
  value: T;
  onChange: (id: T) => void;
}

/** Alternatives of which one is shown. */
export function Tabs<T extends string>({ label, tabs, value, onChange }: TabsProps<T>) {
  return (
    <div className="tabs" role="group" aria-label={label}>
      {tabs.map(([id, title]) => <button key={id} type="button" aria-pressed={id === value} onClick={() => onChange(id)}><span>{title}</span></button>)}
    </div>
  );
}
