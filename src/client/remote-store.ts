import * as calls from "../api/routes/calls/store-calls.ts";
import { elsewhere } from "../api/routes/define-call.ts";
import type * as shapes from "../api/shapes.ts";
import type * as api from "../api/store-api.ts";
import type { WorkspaceApi } from "../api/workspace-api.ts";
import { ChronicleError } from "../core/values/errors.ts";
import { meantBy } from "../core/values/meant-by.ts";
import { Requests, requesting } from "./requests.ts";
import { RemoteWorkspace } from "./remote-workspace.ts";
import type { Wire } from "./wire.ts";
import { optional } from "../util/optional.ts";

const REQUESTS = {
  workspaces: calls.listWorkspaces,
  gc: calls.collectStore,
  du: calls.storeUsage,
  doctor: calls.doctor,
};

/** The store of a server. Only a program on the server's machine can track a folder there: `init` throws `USAGE`. */
export class RemoteStore extends requesting(REQUESTS) implements api.StoreApi {
  /** The server's address. */
  readonly home: string;
  readonly #wire: Wire;
  readonly #requests: Requests;

  constructor(wire: Wire, home: string) {
    const requests = new Requests(wire);
    super(requests);
    this.home = home;
    this.#wire = wire;
    this.#requests = requests;
  }

  init(): ReturnType<api.StoreApi["init"]> {
    const error = new ChronicleError("USAGE", "a folder is tracked on the machine where it is", {
      hint: "run `chronicle init` there; `create` begins a workspace without a folder",
    });
    return Promise.reject(error);
  }

  /** Opens the workspace whose folder, on the server's machine, is or encloses this one. */
  async open({ folder, ...options }: api.OpenOptions): Promise<WorkspaceApi> {
    const around = (await this.workspaces()).flatMap((shape) =>
      shape.roots.filter((root) => encloses(root, folder)).map((root) => ({ shape, depth: root.length })),
    );
    const [nearest] = around.sort((a, b) => b.depth - a.depth);
    if (nearest !== undefined) return this.#opened(nearest.shape, options);
    throw new ChronicleError("NOT_FOUND", `the server tracks no folder around ${folder}`, {
      hint: "say which workspace is meant, by its id or name",
      data: { folder },
    });
  }

  async create(options?: api.CreateOptions): ReturnType<api.StoreApi["create"]> {
    const result = await this.#requests.one(calls.createWorkspace, options);
    return {
      workspace: new RemoteWorkspace(this.#wire, result.workspace, result.path === "" ? [] : [result.path]),
      result,
    };
  }

  async openById(id: string, options: api.OpenByIdOptions = {}): Promise<WorkspaceApi> {
    return this.#opened(await this.#shapeOf(id, options.exact === true), options);
  }

  async archive(id: string, archived?: boolean): Promise<shapes.WorkspaceShape> {
    return this.#requests.one(calls.archiveWorkspace, (await this.#shapeOf(id)).id, archived);
  }

  async forget(id: string, { now = false }: api.ForgetOptions = {}): Promise<shapes.WorkspaceShape> {
    if (now) throw elsewhere("forget at once");
    return this.#requests.one(calls.forgetWorkspace, (await this.#shapeOf(id)).id);
  }

  /** Does nothing: the connection belongs to the client. */
  async close(): Promise<void> {
    this.#requests.close();
    await Promise.resolve();
  }

  /**
   * Finds a workspace by name or id. The server knows whole ids and exact names; the beginning of an id is matched
   * here.
   */
  async #shapeOf(asked: string, exact = false): Promise<shapes.WorkspaceShape> {
    try {
      return await this.#requests.one(calls.getWorkspace, asked);
    } catch (error) {
      if (exact || !(error instanceof ChronicleError) || error.code !== "NOT_FOUND") throw error;
      const [found, ...others] = meantBy(await this.workspaces(), asked, ({ id }) => id);
      if (found === undefined) {
        throw new ChronicleError("NOT_FOUND", `there is no workspace ${JSON.stringify(asked)}`, {
          hint: "`chronicle workspaces` lists them",
          cause: error,
        });
      }
      if (others.length === 0) return found;
      throw new ChronicleError("AMBIGUOUS", `${others.length + 1} workspaces begin with ${asked}`, {
        hint: "give more of the id",
        data: { ids: [found, ...others].map(({ id }) => id) },
      });
    }
  }

  #opened(shape: shapes.WorkspaceShape, options: Pick<api.OpenByIdOptions, "role" | "actor" | "client" | "readOnly">) {
    const { role, actor, client, readOnly = false } = options;
    const acting = {
      ...optional({ role, actor, client }),
    };
    return new RemoteWorkspace(this.#wire.with({ acting, readOnly }), shape.id, shape.roots);
  }
}

function encloses(root: string, folder: string): boolean {
  return folder === root || folder.startsWith(root.endsWith("/") ? root : `${root}/`);
}
