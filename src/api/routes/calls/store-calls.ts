import type { CreateOptions, MarkChanges } from "../../store-api.ts";
import { defineCall, WORKSPACE } from "../row.ts";

export const me = defineCall({
  operation: "me",
  method: "GET",
  path: "/v1/me",
  reply: { json: "MeShape" },
  ask: () => ({}),
});

export const listWorkspaces = defineCall({
  operation: "listWorkspaces",
  method: "GET",
  path: "/v1/workspaces",
  reply: { pageOf: "WorkspaceShape" },
  ask: () => ({}),
});

export const createWorkspace = defineCall({
  operation: "createWorkspace",
  method: "POST",
  path: "/v1/workspaces",
  reply: { json: "InitShape", status: 201 },
  ask: ({ name, from }: CreateOptions = {}) => ({ body: { name, from } }),
});

export const getWorkspace = defineCall({
  operation: "getWorkspace",
  method: "GET",
  path: WORKSPACE,
  reply: { json: "WorkspaceShape" },
  ask: (id: string) => ({ params: { id } }),
});

export const archiveWorkspace = defineCall({
  operation: "archiveWorkspace",
  method: "POST",
  path: `${WORKSPACE}/archive`,
  reply: { json: "WorkspaceShape" },
  ask: (id: string, archived?: boolean) => ({ params: { id }, body: { archived } }),
});

export const forgetWorkspace = defineCall({
  operation: "forgetWorkspace",
  method: "DELETE",
  path: WORKSPACE,
  reply: { json: "WorkspaceShape" },
  ask: (id: string) => ({ params: { id } }),
});

export const listMarks = defineCall({
  operation: "listMarks",
  method: "GET",
  path: `${WORKSPACE}/marks`,
  reply: { json: "MarksShape" },
  ask: (id: string) => ({ params: { id } }),
});

export const changeMarks = defineCall({
  operation: "changeMarks",
  method: "POST",
  path: `${WORKSPACE}/marks`,
  reply: { nothing: true },
  ask: (id: string, { add, remove }: MarkChanges) => ({ params: { id }, body: { add, remove } }),
});

export const collectStore = defineCall({
  operation: "collectStore",
  method: "POST",
  path: "/v1/gc",
  reply: { json: "GcShape" },
  ask: () => ({}),
});

export const storeUsage = defineCall({
  operation: "storeUsage",
  method: "GET",
  path: "/v1/du",
  reply: { json: "DuShape" },
  ask: () => ({}),
});

export const doctor = defineCall({
  operation: "doctor",
  method: "GET",
  path: "/v1/doctor",
  reply: { json: "DoctorShape" },
  ask: () => ({}),
});
