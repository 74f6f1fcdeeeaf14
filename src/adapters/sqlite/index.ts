/** Entry point "strongroom/sqlite": storage in one SQLite file. */

export type { Synchronous } from './open-database.ts'
export type { DriverName } from './sqlite-driver.ts'
export { type SqliteOptions, sqliteStorage } from './sqlite-storage.ts'
