/** How an undo is taken back, in a sentence for a model. `id`: that of an undo of somebody's work, `null` of a step. */
export function redoOf(id: string | null): string {
  return id === null ? "redo brings it again." : `redo {"operation":"${id}"} brings it again.`;
}
