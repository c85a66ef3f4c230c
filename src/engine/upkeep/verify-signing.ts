import type { VerifyProblemShape as Problem } from "../../api/shapes.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Context, KeptHead } from "../log/context.ts";
import type { LoggedSigner } from "../log/signing-fault.ts";
import type { LogFindings } from "./verify-log.ts";

/** The result of comparing the signers in the log with the key and head that are kept apart from it. */
export interface SigningFindings {
  readonly problems: readonly Problem[];
  readonly notes: readonly string[];
  /** The kept head, if its signature is one of this history's. */
  readonly head: KeptHead | undefined;
}

/**
 * Checks that the key and the head of the signer that a history names are there. Does not use the index. The head of a
 * copy is kept by its origin. `kept`: the kept head as it was before the log was read; another one may be kept
 * meanwhile.
 */
export function verifySigning(
  context: Context,
  { signers, lastSeq, broken }: LogFindings,
  kept: KeptHead | undefined,
): SigningFindings {
  if (context.isCopy === true) return { problems: [], notes: [], head: undefined };
  const problems: Problem[] = [];
  const notes: string[] = [];
  const tell = (kind: string, where: string, detail: string): void => void problems.push({ kind, where, detail });
  const signer = signers.at(-1);
  // If there is no signer, nothing was recorded, or its line is among those that are damaged.
  if (signer === undefined && lastSeq > 0 && !broken)
    tell("signer-missing", "events.wal", "no event names whose key signs the heads of this history");
  const head = lastSeq === 0 ? kept : checkHead(context, { signers, kept }, tell);
  if (signer !== undefined) checkKey(context, signer, tell);
  signers.forEach((one, i) => {
    const before = signers[i - 1];
    if (one.why === "accepted") notes.push(acceptedNote(one));
    else if (before !== undefined && !isCovered(context, one, before)) {
      tell(
        "signer-unproved",
        `event ${one.seq}`,
        "it names another key, and no head that the key before it signed covers it",
      );
    }
  });
  return { problems, notes, head };
}

type Tell = (kind: string, where: string, detail: string) => void;

function checkHead(
  { workspaceId }: Context,
  { signers, kept }: { readonly signers: readonly LoggedSigner[]; readonly kept: KeptHead | undefined },
  tell: Tell,
): KeptHead | undefined {
  const where = `heads/${workspaceId}`;
  if (kept === undefined) {
    tell("head-missing", where, "there is no signed head, though one must have been kept since the first event");
    return undefined;
  }
  if (kept.valid || signers.some(({ key }) => kept.isSignedBy(key))) return kept;
  const why = kept.unreadable ?? "the signature of the kept head does not verify with the key beside it";
  tell("head-invalid", where, why);
  return undefined;
}

function checkKey({ heads }: Context, signer: LoggedSigner, tell: Tell): void {
  const where = "key.pem";
  try {
    const own = heads.verifierKey();
    if (own === undefined) tell("key-missing", where, `there is no file ${heads.keyFile}`);
    else if (own !== signer.key) {
      tell("key-other", where, `${heads.keyFile} is not the key that event ${signer.seq} names as the signer's`);
    }
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
    tell("key-invalid", where, error.message);
  }
}

function isCovered({ heads, workspaceId }: Context, signer: LoggedSigner, before: LoggedSigner): boolean {
  const last = heads.last(workspaceId);
  const known = [...(last === undefined ? [] : [last]), ...heads.former(workspaceId)];
  return known.some((head) => head.seq >= signer.seq && head.isSignedBy(before.key));
}

function acceptedNote({ seq, actor, accepted }: LoggedSigner): string {
  const { log, head, keptAs, reason } = accepted ?? { log: { seq: seq - 1 }, head: null, keptAs: null, reason: "" };
  const old =
    head === null ? "no head that could be read was kept" : `the head kept until then was of event ${head.seq}`;
  const where = keptAs === null ? "" : ` (kept as heads/${keptAs})`;
  return `event ${seq}: ${actor} accepted the history as it was at event ${log.seq}; ${old}${where}; the reason: ${reason}`;
}
