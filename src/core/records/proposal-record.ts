import type { EventDraft, RecordBody } from "../values/event.ts";
import { fileRecordId, pathOfRecordId } from "../values/file-record.ts";
import type { WorkspacePath } from "../values/path.ts";
import { whole } from "../values/record-fields.ts";

const PREFIX = "proposal:";

/**
 * `proposal:<id of the path's file record>`: a replica proposes the present state of a path to the origin once more.
 * The proposal is based on the origin's events that the replica had applied when it recorded the proposal. Like the
 * event of a file, the event of a proposal is an entry of the replica's journal.
 */
export interface ProposalRecord {
  readonly path: WorkspacePath;
  /** The number of the proposed iteration in the replica's own history; 0 if the path never existed in this history. */
  readonly iteration: number;
}

export function proposalRecordId(path: WorkspacePath): string {
  return PREFIX + fileRecordId(path);
}

/**
 * Returns the path that the record with this id proposes; `undefined` for a record that is not a proposal. Throws
 * `LOG_DAMAGED` for an invalid path.
 */
export function proposedPath(recordId: string): WorkspacePath | undefined {
  return recordId.startsWith(PREFIX) ? pathOfRecordId(recordId.slice(PREFIX.length)) : undefined;
}

export function proposalDraft({ path, iteration }: ProposalRecord): EventDraft {
  return { op: "upsert", recordId: proposalRecordId(path), record: { iteration } };
}

/**
 * Decodes a proposal. `path` is the path that the id of its record names. Throws `LOG_DAMAGED` for an invalid record.
 */
export function decodeProposal(path: WorkspacePath, body: RecordBody): ProposalRecord {
  return { path, iteration: whole(body, "iteration") };
}
