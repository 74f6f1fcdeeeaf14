/** Entry point "strongroom/sqlite": storage in one SQLite file. */

export type { DriverName } from './drivers.ts'
export type { Synchronous } from './open-database.ts'
export { type SqliteOptions, sqliteStorage } from './sqlite-storage.ts'
