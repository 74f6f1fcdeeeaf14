/** Recognizes a conflict of row ids: in a table whose ids rise in the order of commits, rows with higher ids were committed first. */
import { isVaultError } from '../errors.ts'

/** True for a conflict of row ids in any table. The rows can be stored with others. Source: docs/decisions/0048. */
export function isIdConflict(error: unknown): boolean {
  if (!isVaultError(error, 'conflict')) return false
  const columns = error.details[0]?.columns
  return columns?.length === 1 && columns[0] === 'id'
}
