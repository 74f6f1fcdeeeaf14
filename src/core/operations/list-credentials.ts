/** List credentials: a page of them, without what verifies them. */

import { type ListedCredential, listCredentialRows, withoutVerifier } from '../credentials/credential-store.ts'
import { fault } from '../errors.ts'
import type { ParsingContext } from '../execution/context.ts'
import { assertOwner } from '../execution/grants.ts'
import type { Operation } from '../execution/operation.ts'
import { DEFAULT_PAGE_SIZE } from '../limits.ts'
import { assertOptions } from '../util/options.ts'

/** The page to list. */
export interface ListCredentialsOptions {
  /** Number of credentials to skip. Default 0. */
  readonly offset?: number
  /** Maximum number of credentials: 1 to `limits.maxPageSize`. Default 25. */
  readonly limit?: number
}

/** Input of listing. */
export interface ListCredentialsInput {
  readonly options?: ListCredentialsOptions
}

/** A page of credentials, in the order they were created. */
export interface CredentialList {
  readonly credentials: readonly ListedCredential[]
}

/** Lists credentials, also revoked ones, and expired ones until they are purged. Needs ALL ON * in plain text. Throws `out_of_range`. */
export const listCredentials: Operation<ListCredentialsInput, Required<ListCredentialsOptions>, CredentialList> = {
  action: 'LIST_CREDENTIALS',
  resourceType: 'CREDENTIAL',
  verb: 'List credentials',
  members: ['options'],
  recorded: { offset: 'number', limit: 'number' },
  parse({ options = {} }, { limits }: ParsingContext) {
    assertOptions<ListCredentialsOptions>(options, ['offset', 'limit'])
    const { offset = 0, limit = Math.min(DEFAULT_PAGE_SIZE, limits.maxPageSize) } = options
    if (!Number.isSafeInteger(offset) || offset < 0) throw fault('out_of_range')`offset must be an integer of at least 0.`
    if (!Number.isSafeInteger(limit) || limit < 1 || limit > limits.maxPageSize)
      throw fault('out_of_range')`limit must be an integer from 1 to ${limits.maxPageSize}.`
    return { offset, limit }
  },
  async execute(context, page) {
    assertOwner(context)
    const stored = await listCredentialRows(context.unit.storage, context.barrier, page)
    return { credentials: stored.map(withoutVerifier) }
  },
}
