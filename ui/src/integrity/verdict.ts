import type { VerifyShape } from "../../../src/api/shapes.ts";
import { counted, digits } from "../parts/words.ts";

/** A finished check of a history. */
export interface Check {
  readonly result: VerifyShape;
  /** True if only the log was read, and no content. */
  readonly isQuick: boolean;
  /** The seq of the last event. */
  readonly last: number;
}

interface Verdict {
  readonly title: string;
  /** What was compared with a signed head, and what was not. */
  readonly proof: string;
}

/** Says what a check has shown. It says no more than was read, and than a signed head commits to. */
export function verdictOf({ result, isQuick, last }: Check): Verdict {
  const { ok, problems } = result;
  const proved = provedTo(result);
  if (!ok) {
    const proof = proved === undefined ? NO_HEAD : `Compared with a signed head of event ${digits(proved)}.`;
    return { title: `${counted(problems.length, "problem")} found`, proof };
  }
  if (proved === undefined) return { title: isQuick ? `The log is consistent. ${UNREAD}` : CONSISTENT, proof: NO_HEAD };
  const rest = Math.max(0, last - proved);
  const upTo = rest === 0 ? "" : ` up to event ${digits(proved)}`;
  const what = isQuick ? `The log is what was recorded${upTo}. ${UNREAD}` : whole(upTo);
  return { title: what, proof: `Proved by a signed head up to event ${digits(proved)}.${restWords(rest)}` };
}

const UNREAD = "The contents were not read.";
const CONSISTENT = "Consistent in itself: every content has its hash. Nothing outside of this history confirms it.";
const NO_HEAD = "No signed head was there to compare with.";

function whole(upTo: string): string {
  return upTo === ""
    ? "Whole: every event and content is what was recorded."
    : `Whole${upTo}: every event and content is what was recorded.`;
}

function restWords(rest: number): string {
  if (rest === 0) return "";
  return ` No signed head was there for the ${rest === 1 ? "event" : `${digits(rest)} events`} after it.`;
}

/** Returns the seq of the newest signed head that agrees with the log: the one of the store, or the one that was given. */
function provedTo({ anchored_to: anchor, expected }: VerifyShape): number | undefined {
  const given = expected?.ok === true && expected.signature === "valid" ? [expected.seq] : [];
  const seqs = [...(anchor === null ? [] : [anchor]), ...given];
  return seqs.length === 0 ? undefined : Math.max(...seqs);
}
