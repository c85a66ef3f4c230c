import type { Head, RecordBody } from "../values/event.ts";
import { damaged, hashOf, object, orNull, text, whole } from "../values/record-fields.ts";

/**
 * `signer:<workspace id>`: the key that signs the heads of this history from this event on. The last event of the
 * record is in force. The first event of the record is in the first commit of a history.
 */
export interface SignerRecord {
  /** The verifier key: `<name>+<key id>+<Base64>`. */
  readonly key: string;
  /** The seq of this event, which is the first event that the key signs. */
  readonly since: number;
  /**
   * The reason why this key signs:
   * - `begun`: the history begins with this key.
   * - `changed`: this key replaces the previous key, which has signed a head that covers this event.
   * - `accepted`: a person has accepted the history as found, although the history was not signed or contradicted its
   *   head.
   */
  readonly why: "begun" | "changed" | "accepted";
  readonly actor: string;
  /** Set only for `accepted`: the log from which a person continued, and the kept head that was replaced. */
  readonly accepted?: Acceptance;
}

export interface Acceptance {
  /** The last event of the log, as the person found the log. */
  readonly log: Head;
  /** The kept head; `null` if no kept head could be read. */
  readonly head: Head | null;
  /**
   * The name of a file in the folder `heads`: a copy of the replaced head, as a signed note. `null` if there was no
   * note.
   */
  readonly keptAs: string | null;
  /** A text for messages: the reason why the history could not continue without a person's decision. */
  readonly reason: string;
}

export function signerRecordId(workspaceId: string): string {
  return `signer:${workspaceId}`;
}

export function encodeSigner({ key, since, why, actor, accepted }: SignerRecord): RecordBody {
  const base = { key, since, why, actor: actor.toWellFormed() };
  if (accepted === undefined) return base;
  const { log, head, keptAs, reason } = accepted;
  return {
    ...base,
    accepted: {
      log: { seq: log.seq, hash: log.hash },
      head: head === null ? null : { seq: head.seq, hash: head.hash },
      kept_as: keptAs,
      reason: reason.toWellFormed(),
    },
  };
}

/** Decodes a signer record. Throws `LOG_DAMAGED` if it is invalid. */
export function decodeSigner(body: RecordBody): SignerRecord {
  const why = text(body, "why");
  const base = { key: text(body, "key"), since: whole(body, "since"), actor: text(body, "actor") };
  if (why === "begun" || why === "changed") return { ...base, why };
  if (why !== "accepted") return damaged(`why is ${JSON.stringify(why)}`);
  const accepted = object(body["accepted"], "accepted");
  return {
    ...base,
    why,
    accepted: {
      log: headIn(accepted, "log"),
      head: orNull(accepted, "head", headIn),
      keptAs: orNull(accepted, "kept_as", text),
      reason: text(accepted, "reason"),
    },
  };
}

function headIn(body: RecordBody, key: string): Head {
  const head = object(body[key], key);
  return { seq: whole(head, "seq"), hash: hashOf(head, "hash") };
}
