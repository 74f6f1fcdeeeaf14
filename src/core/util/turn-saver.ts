/** Decides whether a list of work is worth a turn of the event loop: only while others joined the lists before it. */

/** Maximum number of lists between two turns, so that input, timers and other callers get theirs. */
const MAX_WITHOUT_TURN = 8

/** Counts the lists of one place that gathers work. */
export interface TurnSaver {
  /** True if the next list can go without a turn: the last that took one stayed alone, and few went since. Counts the list. */
  saves(): boolean
  /** Notes the length of a list that went. After one of several items, lists take their turns again. */
  noteLength(length: number): void
}

/** Returns the saver of a place whose first list takes its turn. */
export function createTurnSaver(): TurnSaver {
  let left = 0
  let isSaved = false
  return {
    saves() {
      isSaved = left > 0
      if (isSaved) left--
      return isSaved
    },
    noteLength(length) {
      if (length > 1) left = 0
      else if (!isSaved) left = MAX_WITHOUT_TURN
    },
  }
}
