/** The entry point "strongroom/errors": what code needs that only handles errors of a vault. It loads no other part of the package. */
export type { ErrorCode, ErrorDetail, Status, VaultErrorOptions } from './core/errors.ts'
export { isVaultError, STATUSES, statusOf, VaultError } from './core/errors.ts'
