import type { ChangesShape } from "../../../src/api/action-shapes.ts";
import type { RecentItem } from "../../../src/api/recent-api.ts";

/** Says whether a line of the timeline, or only a part of its work, was undone. */
export function UndoneTag({ item: { undone, partly_undone: isPartly } }: { readonly item: RecentItem }) {
  return <HowUndone how={undone === true ? "yes" : isPartly === true ? "part" : "no"} />;
}

/** Says how much of some work was undone. */
export function HowUndone({ how }: { readonly how: ChangesShape["undone"] }) {
  if (how === "no") return null;
  return <span className={how === "yes" ? "tag" : "tag partly"}>{how === "yes" ? "undone" : "partly undone"}</span>;
}
