import type * as action from "../action-shapes.ts";
import type { ConflictShape } from "../conflict-shape.ts";
import type { FileListShape, FileShape, FileWriteShape } from "../file-api.ts";
import type * as shapes from "../shapes.ts";

/** Every shape that a reply may have, by the name that it has in the OpenAPI document. */
export interface ReplyShapes {
  StatusShape: shapes.StatusShape;
  SnapshotShape: shapes.SnapshotShape;
  HeadShape: shapes.HeadShape;
  FileShape: FileShape;
  FileListShape: FileListShape;
  FileWriteShape: FileWriteShape;
  ConflictShape: ConflictShape;
  ActionShape: action.ActionShape;
  WorkspaceShape: shapes.WorkspaceShape;
}
