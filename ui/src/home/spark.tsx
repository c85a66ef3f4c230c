import { useNow } from "../parts/time.tsx";

const BARS = 28;
const DAY_MS = 86_400_000;

/** Shows, as one bar for each of the last 28 days, how much of the given work was done on that day. */
export function Spark({ times }: { readonly times: readonly number[] }) {
  const end = new Date(useNow()).setHours(24, 0, 0, 0);
  const counts = Array.from({ length: BARS }, () => 0);
  for (const time of times) {
    const at = BARS - 1 - Math.floor((end - time) / DAY_MS);
    if (at >= 0 && at < BARS) counts[at] = (counts[at] ?? 0) + 1;
  }
  const most = Math.max(1, ...counts);
  return (
    <svg
      className="spark"
      viewBox={`0 0 ${BARS * 4} 20`}
      preserveAspectRatio="none"
      role="img"
      aria-label="The newest work, by day"
    >
      {counts.map((count, i) => {
        const height = count === 0 ? 1 : 3 + (count / most) * 17;
        const place = { x: i * 4, y: 20 - height, width: 3, height };
        // A bar has no other identity than its position.
        // oxlint-disable-next-line react/no-array-index-key
        return <rect key={i} {...place} className={count === 0 ? "none" : ""} />;
      })}
    </svg>
  );
}
