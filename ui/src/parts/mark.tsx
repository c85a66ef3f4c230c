/** Chronicle's mark: a clock that runs back. */
export function Mark({ size = 20 }: { readonly size?: number }) {
  return (
    <svg
      className="mark"
      width={size}
      height={size}
      viewBox="0 0 32 32"
      fill="none"
      stroke="currentColor"
      strokeWidth="2.6"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d="M6 10a12 12 0 1 1-1.7 8" />
      <path d="M5 4v6.5h6.5" />
      <path d="M16 10v7l4.5 2.5" />
    </svg>
  );
}
