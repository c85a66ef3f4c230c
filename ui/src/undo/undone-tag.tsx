import type { ChangesShape } from "../../../src/api/action-shapes.ts";
import type { RecentItem } from "../../../src/api/recent-api.ts";

/** Shows whether the work of a line of the timeline was undone, as a whole or in part. */
export function UndoneTag({ item: { undone, partly_undone: isPartly } }: { readonly item: RecentItem }) {
  return <HowUndone how={undone === true ? "yes" : isPartly === true ? "part" : "no"} />;
}

/** Shows whether all of some work was undone, or only a part of it. */
export function HowUndone({ how }: { readonly how: ChangesShape["undone"] }) {
  if (how === "no") return null;
  return <span className={how === "yes" ? "tag" : "tag partly"}>{how === "yes" ? "undone" : "partly undone"}</span>;
}
