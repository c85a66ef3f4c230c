import type { RecentItem } from "../../../src/api/recent-api.ts";
import { visible } from "./words.ts";

type Ended = Pick<RecentItem, "outcome" | "exit_code" | "signal">;

/** Returns how work ended that did not succeed, as `failed, exit code 2`. Returns `""` for other work. */
export function outcomeWords({ outcome, exit_code: code = 0, signal }: Ended): string {
  if (outcome === undefined) return "";
  if (signal !== undefined) return `${outcome}, ended by ${visible(signal)}`;
  return code === 0 ? outcome : `${outcome}, exit code ${code}`;
}

/** Marks a line of the timeline whose work did not succeed. */
export function OutcomeTag({ item }: { readonly item: Ended }) {
  const words = outcomeWords(item);
  return words === "" ? null : <span className="tag warn">{words}</span>;
}
