/** The registry of operations that consist of no others. Batches run them; `batch/perform-named.ts` adds the batch itself. */

import { countEvents } from './count-events.ts'
import { createCredential, listCredentials, revokeCredential } from './credentials.ts'
import { deleteFile } from './delete-file.ts'
import { deleteOne, deleteRecords } from './delete-records.ts'
import { deleteWhere } from './delete-where.ts'
import { detokenize } from './detokenize-tokens.ts'
import { fileStatus, fileStatuses } from './file-status.ts'
import { getByTokens } from './get-by-tokens.ts'
import { get, getOne } from './get-records.ts'
import { importRecords } from './import-records.ts'
import { insert } from './insert-records.ts'
import { downloadTicket, uploadTicket } from './issue-tickets.ts'
import { listEvents } from './list-events.ts'
import { openFile } from './open-file.ts'
import { previewAccess } from './preview-access.ts'
import { query } from './query-records.ts'
import { checkPolicy, readPolicy } from './read-policy.ts'
import { reveal } from './reveal-value.ts'
import { tokenize } from './tokenize-values.ts'
import { update, updateOne } from './update-records.ts'
import { updateWhere } from './update-where.ts'
import { uploadFile } from './upload-file.ts'

/** Every operation but the batch, by its name. */
export const OPERATIONS = {
  insert,
  importRecords,
  get,
  getOne,
  update,
  updateOne,
  updateWhere,
  delete: deleteRecords,
  deleteOne,
  deleteWhere,
  detokenize,
  tokenize,
  getByTokens,
  query,
  reveal,
  listEvents,
  countEvents,
  uploadFile,
  openFile,
  deleteFile,
  fileStatus,
  fileStatuses,
  uploadTicket,
  downloadTicket,
  createCredential,
  revokeCredential,
  listCredentials,
  readPolicy,
  previewAccess,
  checkPolicy,
} as const
