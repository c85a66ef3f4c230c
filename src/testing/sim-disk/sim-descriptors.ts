import type { OpenHow } from "../../disk/disk.ts";
import { systemError } from "./sim-error.ts";
import type { SimState } from "./sim-state.ts";

/** One open file or folder. */
export interface SimDescriptor {
  readonly node: number;
  readonly how: OpenHow;
  /** The path with which it was opened, for plans and messages. */
  readonly path: string;
  /** The position of the next read or write without a given one. */
  position: number;
}

/** The descriptors of the simulated process. Numbers are reused, the lowest first, as in a kernel. */
export class SimDescriptors {
  readonly #most: number;
  readonly #open = new Map<number, SimDescriptor>();

  constructor(most: number) {
    this.#most = most;
  }

  get count(): number {
    return this.#open.size;
  }

  find(fd: number): SimDescriptor | undefined {
    return this.#open.get(fd);
  }

  /** Throws `EMFILE` if no further descriptor can be opened. */
  checkRoom(path: string): void {
    if (this.#open.size >= this.#most) throw systemError("EMFILE", "open", path);
  }

  add(state: SimState, descriptor: SimDescriptor): number {
    this.checkRoom(descriptor.path);
    let fd = 3;
    while (this.#open.has(fd)) fd++;
    this.#open.set(fd, descriptor);
    state.own(descriptor.node).open++;
    return fd;
  }

  remove(state: SimState, fd: number): void {
    const descriptor = this.#open.get(fd);
    if (descriptor === undefined) throw systemError("EBADF", "close");
    this.#open.delete(fd);
    const node = state.own(descriptor.node);
    node.open--;
    state.releaseUnused(node);
  }
}
