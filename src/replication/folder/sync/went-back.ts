import type { CommonHistory } from "../../replica/find-common-event.ts";

/** Describes how far an origin that lacks events it had went back. `undefined`: it has them all. */
export function wentBack({ held, origin, common }: CommonHistory): string | undefined {
  if (common === held) return undefined;
  const to = common === undefined ? "an event that both do not hold any more" : `event ${common}`;
  const since = common === undefined ? 0 : Math.max(0, origin - common);
  const others =
    since === 0
      ? ""
      : since === 1
        ? ", and has recorded another one since"
        : `, and has recorded ${since} others since`;
  return `the origin went back to an earlier state: from its event ${held} to ${to}${others}`;
}
