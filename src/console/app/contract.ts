/** What the vault answers to the operations that the shell and several pages use, by the types of the library. */
import type { OperationResult } from '../../index.ts'

/** Who is signed in. */
export type CallerDescription = OperationResult<'describeCaller'>

/** One table as the caller has it. */
export type TableDescription = OperationResult<'describeSchema'>['tables'][number]

/** One column as the caller has it. */
export type ColumnDescription = TableDescription['columns'][number]

/** How much of a value is shown. */
export type Level = ColumnDescription['redaction']

/** Whether an action is allowed: always, for some records, or never. */
export type Decision = ColumnDescription['search']

/** One statement of the policy, as far as it is about a column. */
export type Statement = ColumnDescription['read']['statements'][number]

/** One record as the caller has it. */
export type UntypedRecord = OperationResult<'get'>['records'][number]
