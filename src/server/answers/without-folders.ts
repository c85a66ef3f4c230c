import type { Answer } from "../../api/routes/route.ts";
import { hide } from "./problem.ts";

/** Operations whose answers name folders of the server's machine. */
const NAMING: ReadonlySet<string> = new Set([
  "status",
  "signing",
  "listSessions",
  "getSession",
  "startSession",
  "endSession",
  "retention",
  "explain",
  "verify",
]);
/** Fields whose text, or each text of whose list, is a place on the machine. */
const PLACES: ReadonlySet<string> = new Set(["path", "tracked_paths", "source", "sources"]);

/**
 * Returns an answer for a caller who must not learn folders of the server's machine: places are emptied, and `…`
 * replaces the `hidden` folders in texts. Log events are returned unchanged, since their lines are chained by hashes.
 */
export function withoutFolders(operation: string, answer: Answer, hidden: readonly string[]): Answer {
  if (answer.kind !== "json" || !NAMING.has(operation)) return answer;
  return { ...answer, value: cleaned(answer.value, hidden, false) };
}

function cleaned(value: unknown, hidden: readonly string[], isPlace: boolean): unknown {
  if (typeof value === "string") return isPlace && value.startsWith("/") ? "" : hide(value, hidden);
  if (Array.isArray(value)) return value.map((one) => cleaned(one, hidden, isPlace));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, cleaned(one, hidden, isPlace || PLACES.has(key))]),
  );
}
