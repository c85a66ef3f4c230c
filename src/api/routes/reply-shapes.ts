import type * as action from "../action-shapes.ts";
import type { ConflictShape } from "../conflict-shape.ts";
import type * as file from "../file-api.ts";
import type * as record from "../record-api.ts";
import type * as shapes from "../shapes.ts";
import type { DoctorShape, InitShape } from "../store-api.ts";
import type * as sync from "../sync-api.ts";
import type { RecentShape } from "../workspace-api.ts";
import type { Role } from "./role.ts";

/** A part of a list. */
export interface Page<Item> {
  items: Item[];
  /** Give it as `cursor` for those that follow; `null`: that was all. */
  next: string | null;
}

/** Who asks, as the server knows it. */
export interface MeShape {
  /** Of the server's Chronicle. */
  version: string;
  role: Role;
  /** Of the token, where there is one. */
  name?: string;
  /** Ids and names of the workspaces that the caller may see; `null`: all of the store's. */
  workspaces: string[] | null;
  /** The workspace of the folder that the server was started in. */
  default_workspace: string | null;
  /** The server still opens that folder, or begins its history: which workspace it is, is not known yet. */
  starting?: true;
}

/** A record of a user's own. */
export interface LiveRecordShape {
  id: string;
  record: Record<string, unknown>;
}

/** What somebody did to a record. */
export type UserRecordEventShape = Omit<record.RecordEventShape, "record"> & { record: Record<string, unknown> };

/** How many records were rewritten. */
export interface MigratedShape {
  records: number;
}

/** A content. */
export interface BlobShape {
  hash: string;
  size: number;
}

/** Ids of the actions that were abandoned. */
export interface AbandonedShape {
  actions: string[];
}

/** The chain is whole: what is not is a problem instead. */
export interface IntegrityShape {
  ok: true;
}

/** A problem (RFC 9457), as `application/problem+json`. */
export interface ProblemShape {
  /** `about:blank`: the title is the status's own. */
  type: string;
  title: string;
  status: number;
  /** What is wrong, in words. */
  detail: string;
  /** A stable code: `NOT_FOUND`, `PRECONDITION_FAILED` …, `INTERNAL`. */
  code: string;
  /** What to do next, where there is something. */
  hint?: string;
  /** The things named in `detail`, for programs. */
  data?: Record<string, unknown>;
}

/** Every shape that a reply may have, by the name that it has in the OpenAPI document. */
export interface ReplyShapes {
  AbandonedShape: AbandonedShape;
  ActionDiffShape: action.ActionDiffShape;
  ActionEndShape: action.ActionEndShape;
  ActionShape: action.ActionShape;
  BlobShape: BlobShape;
  ChangesShape: action.ChangesShape;
  CompactShape: shapes.CompactShape;
  ConfigShape: shapes.ConfigShape;
  ConflictShape: ConflictShape;
  DiffShape: shapes.DiffShape;
  DoctorShape: DoctorShape;
  DuShape: shapes.DuShape;
  ExplainShape: shapes.ExplainShape;
  FileListShape: file.FileListShape;
  FileShape: file.FileShape;
  FileWriteShape: file.FileWriteShape;
  EraseShape: action.EraseShape;
  ErasureShape: action.ErasureShape;
  /** A path that was recorded. */
  FoundPath: string;
  GcShape: shapes.GcShape;
  HeadShape: shapes.HeadShape;
  InitShape: InitShape;
  IntegrityShape: IntegrityShape;
  IterationShape: shapes.IterationShape;
  LiveRecordShape: LiveRecordShape;
  LogEventShape: shapes.LogEventShape;
  ManifestShape: shapes.ManifestShape;
  MeShape: MeShape;
  MigratedShape: MigratedShape;
  OperationShape: shapes.OperationShape;
  ProblemShape: ProblemShape;
  PruneShape: action.PruneShape;
  RebuildShape: shapes.RebuildShape;
  RecentShape: RecentShape;
  RecordImportShape: record.RecordImportShape;
  RecordShape: shapes.RecordShape;
  RecordVerifyShape: record.RecordVerifyShape;
  ResolveShape: action.ResolveShape;
  VersionShape: action.VersionShape;
  VersionRestoreShape: action.VersionRestoreShape;
  RestoreShape: shapes.RestoreShape;
  RetentionSourcesShape: action.RetentionSourcesShape;
  SessionShape: shapes.SessionShape;
  SnapshotShape: shapes.SnapshotShape;
  StatusShape: shapes.StatusShape;
  SigningShape: shapes.SigningShape;
  SyncEventShape: sync.SyncEventShape;
  SyncResolvedShape: sync.SyncResolvedShape;
  SyncShape: sync.SyncShape;
  TransactionRollbackShape: action.TransactionRollbackShape;
  TransactionShape: action.TransactionShape;
  UndoShape: shapes.UndoShape;
  UserRecordEventShape: UserRecordEventShape;
  VerifyShape: shapes.VerifyShape;
  WorkspaceShape: shapes.WorkspaceShape;
}
