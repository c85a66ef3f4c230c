import type { SigningReason } from "../../api/shapes.ts";
import type { SignerRecord } from "../../core/records/signer-record.ts";

/** A signer, with the seq of the event that names this signer. */
export interface LoggedSigner extends SignerRecord {
  readonly seq: number;
}

/** The reason why a history is not signed. */
export interface SigningFault {
  readonly reason: SigningReason;
  /** A sentence without a full stop. */
  readonly message: string;
  readonly hint: string;
}
