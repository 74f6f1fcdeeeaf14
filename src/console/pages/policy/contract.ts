/** What the vault answers to the operations of this page, by the types of the library. */
import type { OperationResult } from '../../../index.ts'

/** The statements of each role. */
export type PolicyText = OperationResult<'readPolicy'>

/** Roles of a draft, each with its statements, which this page writes as text. */
export type Draft = Readonly<Record<string, readonly string[]>>

/** What another caller can do, and records as both see them. */
export type Preview = OperationResult<'previewAccess'>

/** A record as each caller sees it. */
export type PreviewedRecord = Preview['records'][number]

/** A record as one caller sees it. */
export type SeenRecord = PreviewedRecord['yours']

/** A draft that was checked: its errors, or what it changes. */
export type CheckedDraft = OperationResult<'checkPolicy'>

/** An error of a draft. Without a role it is of the whole policy, without a position of the whole role. */
export type DraftError = CheckedDraft['errors'][number]

/** What a draft changes for a role. */
export type AccessChange = CheckedDraft['changes'][number]

/** What a role can do with a column. */
export type RoleAccess = AccessChange['before']
