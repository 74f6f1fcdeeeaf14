/** Entry point "strongroom/postgres": storage in a PostgreSQL schema. */

export type { DriverClient, DriverPool, DriverQuery, DriverResult, PooledClient } from './driver-connection.ts'
export type { PostgresTimeouts, PostgresTls } from './postgres-options.ts'
export { type PostgresOptions, postgresStorage } from './postgres-storage.ts'
