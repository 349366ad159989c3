// The logo: two streams that join into one.
export function Logo({ size = 22 }: { size?: number }) {
  return (
    <svg className="logo" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path d="M6 9c8 0 7 7 12 7h8M6 23c8 0 7-7 12-7" />
    </svg>
  );
}
