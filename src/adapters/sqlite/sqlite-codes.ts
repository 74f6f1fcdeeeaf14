/** The code by which SQLite reports an error, as SQLite spells it: drivers pass it on as a name or as a number. */

/** The primary codes in the order of their numbers, from 1. Source: https://sqlite.org/rescode.html. */
const PRIMARY = [
  'ERROR',
  'INTERNAL',
  'PERM',
  'ABORT',
  'BUSY',
  'LOCKED',
  'NOMEM',
  'READONLY',
  'INTERRUPT',
  'IOERR',
  'CORRUPT',
  'NOTFOUND',
  'FULL',
  'CANTOPEN',
  'PROTOCOL',
  'EMPTY',
  'SCHEMA',
  'TOOBIG',
  'CONSTRAINT',
  'MISMATCH',
  'MISUSE',
  'NOLFS',
  'AUTH',
  'FORMAT',
  'RANGE',
  'NOTADB',
] as const

/** The extended codes that this adapter distinguishes from the primary one. */
const EXTENDED: ReadonlyMap<number, string> = new Map([
  [778, 'SQLITE_IOERR_WRITE'],
  [1034, 'SQLITE_IOERR_FSYNC'],
  [1290, 'SQLITE_IOERR_DIR_FSYNC'],
  [1546, 'SQLITE_IOERR_TRUNCATE'],
  [4618, 'SQLITE_IOERR_SHMOPEN'],
  [4874, 'SQLITE_IOERR_SHMSIZE'],
  [5130, 'SQLITE_IOERR_SHMLOCK'],
  [5386, 'SQLITE_IOERR_SHMMAP'],
])

/** Returns the engine's own code of what a driver threw; undefined if it has none. */
export function sqliteCodeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  if ('errcode' in error && typeof error.errcode === 'number') return nameOf(error.errcode)
  // Drivers sometimes put free text in `code`.
  return 'code' in error && typeof error.code === 'string' && /^[A-Z0-9_]+$/.test(error.code) ? error.code : undefined
}

/** The low byte of an extended code is the primary one. */
function nameOf(code: number): string {
  const primary = PRIMARY[(code & 0xff) - 1]
  return EXTENDED.get(code) ?? (primary === undefined ? `SQLITE_${code}` : `SQLITE_${primary}`)
}
