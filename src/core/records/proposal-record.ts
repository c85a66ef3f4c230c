import type { EventDraft, RecordBody } from "../values/event.ts";
import { fileRecordId, pathOfRecordId } from "../values/file-record.ts";
import type { WorkspacePath } from "../values/path.ts";
import { whole } from "../values/record-fields.ts";

const PREFIX = "proposal:";

/**
 * `proposal:<id of the path's file record>`: proposes the present state of a path to the origin once more. The proposal
 * is based on those events of the origin that the replica had applied when it recorded the proposal. The event of a
 * proposal is an entry of the journal, as the event of a file is.
 */
export interface ProposalRecord {
  readonly path: WorkspacePath;
  /** The local iteration of the path that is proposed; 0 if the path never existed. */
  readonly iteration: number;
}

export function proposalRecordId(path: WorkspacePath): string {
  return PREFIX + fileRecordId(path);
}

/** Returns `undefined` for a record that is not a proposal. Throws `LOG_DAMAGED` for an invalid path. */
export function proposedPath(recordId: string): WorkspacePath | undefined {
  return recordId.startsWith(PREFIX) ? pathOfRecordId(recordId.slice(PREFIX.length)) : undefined;
}

export function proposalDraft({ path, iteration }: ProposalRecord): EventDraft {
  return { op: "upsert", recordId: proposalRecordId(path), record: { iteration } };
}

/** Decodes a proposal for the path that its id names. Throws `LOG_DAMAGED` for an invalid record. */
export function decodeProposal(path: WorkspacePath, body: RecordBody): ProposalRecord {
  return { path, iteration: whole(body, "iteration") };
}
