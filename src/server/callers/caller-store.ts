import { type Role, mayDo } from "../../api/routes/role.ts";
import type { Route } from "../../api/routes/row.ts";
import { WHO_CAN } from "../../core/values/agents-role.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { optional } from "../../util/optional.ts";
import type {
  CreateOptions,
  DoctorShape,
  InitShape,
  MarkChanges,
  MarkOptions,
  MarksShape,
  OpenByIdOptions,
  StoreApi,
} from "../../api/store-api.ts";
import type { DuShape, GcShape, WorkspaceShape } from "../../api/shapes.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import type { Caller } from "./caller.ts";
import type { OpenWorkspaces } from "./open-workspaces.ts";
import { mustSee, seesShape } from "./scope.ts";

export interface StoreParts {
  readonly store: StoreApi;
  readonly workspaces: OpenWorkspaces;
}

/**
 * The store for one caller. Operations on workspaces find only those that the caller may see, and throw `NOT_FOUND` for
 * others. `gc`, `du` and `doctor` concern the whole store. The rows that call them check that the caller may see all
 * workspaces.
 */
export class CallerStore implements StoreApi {
  /** Empty, because callers do not learn the folder of the store. */
  readonly home = "";
  readonly #parts: StoreParts;
  readonly #caller: Caller;
  readonly #person: MarkOptions;

  /** `person`: the person whose marks (changes marked as looked at) are read and set; `undefined` for the owner. */
  constructor(parts: StoreParts, caller: Caller, person: string | undefined) {
    this.#parts = parts;
    this.#caller = caller;
    this.#person = optional({ person });
  }

  /**
   * `init` and `open` reject with `PLATFORM_UNSUPPORTED`, because callers cannot name folders of the server's machine.
   */
  init(): ReturnType<StoreApi["init"]> {
    return Promise.reject(notOffered("to begin a history of a folder"));
  }

  open(): Promise<WorkspaceApi> {
    return Promise.reject(notOffered("to open a folder"));
  }

  /**
   * Creates a hosted workspace. The row that calls this method closes the workspace again; later requests open it by
   * its id. Throws `FORBIDDEN` if the caller could not see the new workspace.
   */
  async create(options: CreateOptions = {}): Promise<{ readonly workspace: WorkspaceApi; readonly result: InitShape }> {
    const { store, workspaces } = this.#parts;
    const { from, name } = options;
    // A caller that may see only some workspaces must not create a workspace that it could not see.
    if (this.#caller.workspaces !== undefined && !(name !== undefined && this.#caller.workspaces.includes(name))) {
      throw new ChronicleError(
        "FORBIDDEN",
        "this token is for certain workspaces only, and the new workspace would not be among them",
        {
          hint: "give the new workspace a name that the token has, or use another token",
        },
      );
    }
    const origin = from === undefined ? undefined : await mustSee(workspaces, this.#caller, from.workspace);
    const forked = from === undefined || origin === undefined ? {} : { from: { ...from, workspace: origin } };
    return store.create({ ...options, ...forked });
  }

  async openById(id: string, options: OpenByIdOptions = {}): Promise<WorkspaceApi> {
    return this.#parts.store.openById(await mustSee(this.#parts.workspaces, this.#caller, id), options);
  }

  /**
   * Archives or unarchives a workspace. If this changes the workspace's state, its event streams end, and the next
   * request reopens it.
   */
  async archive(id: string, archived = true): Promise<WorkspaceShape> {
    const { store, workspaces } = this.#parts;
    const whole = await mustSee(workspaces, this.#caller, id);
    const before = (await store.workspaces()).find((one) => one.id === whole);
    const shape = await store.archive(whole, archived);
    if ((before?.archived === true) !== archived) workspaces.letGo(whole);
    return this.#shown(shape);
  }

  async workspaces(): Promise<WorkspaceShape[]> {
    const all = await this.#parts.store.workspaces();
    return all.filter((one) => seesShape(this.#caller, one)).map((one) => this.#shown(one));
  }

  async forget(id: string): Promise<WorkspaceShape> {
    const { store, workspaces } = this.#parts;
    const whole = await mustSee(workspaces, this.#caller, id);
    return this.#shown(await workspaces.giveUp(whole, () => store.forget(whole)));
  }

  async marks(id: string): Promise<MarksShape> {
    const { store, workspaces } = this.#parts;
    return store.marks(await mustSee(workspaces, this.#caller, id), this.#person);
  }

  async mark(id: string, changes: MarkChanges): Promise<void> {
    const { store, workspaces } = this.#parts;
    return store.mark(await mustSee(workspaces, this.#caller, id), changes, this.#person);
  }

  gc(): Promise<GcShape> {
    return this.#parts.store.gc();
  }

  du(options?: { readonly kept?: boolean }): Promise<DuShape> {
    return this.#parts.store.du(options);
  }

  doctor(): Promise<DoctorShape> {
    return this.#parts.store.doctor();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /**
   * Returns the shape of a workspace as this caller may see it. Only operators see the paths of folders on the server's
   * machine.
   */
  #shown(shape: WorkspaceShape): WorkspaceShape {
    return mayDo(this.#caller.role, "operator") ? shape : { ...shape, path: "", roots: [] };
  }
}

function notOffered(what: string): ChronicleError {
  return new ChronicleError("PLATFORM_UNSUPPORTED", `a server does not offer this: ${what}`, {
    hint: "start the server in that folder, or run `chronicle init` there",
  });
}

/** Returns the summary of a row with a small first letter, so that it can end a sentence. */
function workOf({ summary }: Pick<Route, "summary">): string {
  return `${summary.slice(0, 1).toLowerCase()}${summary.slice(1)}`;
}

/** Returns the error `FORBIDDEN` for a caller whose `role` is not sufficient for a row. */
export function needsRole(row: Pick<Route, "summary" | "role">, role: Role): ChronicleError {
  const message = `this is for ${aRole(row.role)}, and this token is ${aRole(role)}'s: ${workOf(row)}`;
  return new ChronicleError("FORBIDDEN", message, {
    hint: "`chronicle token create` makes a token with another role",
    data: { needed: row.role, role },
  });
}

/**
 * The text that replaces `WHO_CAN` in hints. `WHO_CAN` names a terminal, but a caller with a token may have no terminal
 * on the server's machine.
 */
const TOKEN_CAN = "a token with the role operator can; the owner of the server makes one, on its machine";

/**
 * Rewrites the engine's refusal of an agent (`FORBIDDEN` with `data.what`) for HTTP clients. In the message, the
 * summary of the row replaces the name of the engine's method. A message that does not name the method, such as that
 * for a protected file, stays. In the hint, `TOKEN_CAN` replaces `WHO_CAN`, unless the caller's `role` is `operator`.
 * Any other error is returned unchanged.
 */
export function inWords(error: unknown, row: Pick<Route, "summary">, role: Role): unknown {
  if (!(error instanceof ChronicleError) || error.code !== "FORBIDDEN" || !("what" in error.data)) return error;
  const { message, data } = error;
  const isOfMethod = message === `${NOT_FOR_AGENTS}${String(data["what"])}`;
  const hint = role === "operator" ? error.hint : error.hint?.replace(WHO_CAN, TOKEN_CAN);
  return new ChronicleError("FORBIDDEN", isOfMethod ? `${NOT_FOR_AGENTS}${workOf(row)}` : message, {
    ...optional({ hint }),
    data,
    cause: error,
  });
}

/** The beginning of the engine's message for a method that an agent may not call (`agent-view.ts`). */
const NOT_FOR_AGENTS = "an agent may not do this: ";

function aRole(role: Role): string {
  return role === "reader" ? "a reader" : `an ${role}`;
}
