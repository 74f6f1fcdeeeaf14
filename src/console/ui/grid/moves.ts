/** Moves the current cell of a grid by its keys. */

/** A cell: row and column, both from 0. */
export interface CellPosition {
  readonly row: number
  readonly column: number
}

/** The grid that a cell moves in. */
export interface Extent {
  readonly rows: number
  readonly columns: number
  /** Rows of one page of the window. */
  readonly page: number
}

/** What says where to: a keyboard event has these members. */
export interface MoveKey {
  readonly key: string
  readonly ctrlKey: boolean
  readonly metaKey: boolean
  readonly altKey: boolean
}

type Move = (cell: CellPosition, extent: Extent, isWhole: boolean) => CellPosition

const MOVES: Readonly<Record<string, Move>> = {
  ArrowDown: ({ row, column }) => ({ row: row + 1, column }),
  ArrowUp: ({ row, column }) => ({ row: row - 1, column }),
  ArrowRight: ({ row, column }) => ({ row, column: column + 1 }),
  ArrowLeft: ({ row, column }) => ({ row, column: column - 1 }),
  PageDown: ({ row, column }, { page }) => ({ row: row + page, column }),
  PageUp: ({ row, column }, { page }) => ({ row: row - page, column }),
  Home: ({ row }, _, isWhole) => ({ row: isWhole ? 0 : row, column: 0 }),
  End: ({ row }, { rows, columns }, isWhole) => ({ row: isWhole ? rows - 1 : row, column: columns - 1 }),
}

/** Returns the cell that a key leads to, inside the grid; undefined for a key that moves nothing. */
export function moveCell(
  cell: CellPosition,
  { key, ctrlKey, metaKey, altKey }: MoveKey,
  extent: Extent,
): CellPosition | undefined {
  const isWhole = ctrlKey || metaKey
  const move = Object.hasOwn(MOVES, key) ? MOVES[key] : undefined
  // With a modifier only Home and End are moves: the rest are the browser's.
  if (move === undefined || altKey || (isWhole && key !== 'Home' && key !== 'End')) return undefined
  return clampCell(move(cell, extent, isWhole), extent)
}

/** Returns the nearest cell that exists. */
export function clampCell({ row, column }: CellPosition, { rows, columns }: Pick<Extent, 'rows' | 'columns'>): CellPosition {
  return { row: Math.max(0, Math.min(rows - 1, row)), column: Math.max(0, Math.min(columns - 1, column)) }
}

/** Returns how far to scroll so that a row is seen, from a position in a window of a height below a header. */
export function scrollToRow(
  row: number,
  height: number,
  { position, view }: { readonly position: number; readonly view: number },
): number {
  const top = row * height
  if (top < position) return top
  return top + height > position + view ? top + height - view : position
}
