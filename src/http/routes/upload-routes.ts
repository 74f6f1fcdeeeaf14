/** Routes of uploads with a bearer. The content is stored as it arrives. Source: specification, "Files". */
import * as z from 'zod'
import { type OperationInput, type OperationResult, VaultError } from '../../index.ts'
import { type MultipartUpload, readMultipart } from '../body/read-multipart.ts'
import type { RouterOptions } from '../options.ts'
import { jsonResponse } from '../router/json-response.ts'
import { flag, readQuery } from '../router/request-shape.ts'
import type { AuthenticatedCall, BearerRoute, Route } from '../router/route.ts'
import { fileExamples } from './examples.ts'
import { FILE_METADATA, flagMember, idShape, namedShape } from './shapes.ts'

/** Returns the routes. */
export function uploadRoutes(options: RouterOptions): Route[] {
  return [uploadRoute(options), recordUploadRoute(options)]
}

/** The content of a file in a multipart body. */
const CONTENT = z.string().meta({ format: 'binary', description: 'The content of the file.' })

/** What both routes have in common. */
const UPLOAD = {
  access: 'bearer',
  method: 'POST',
  group: 'Files',
  operation: 'uploadFile',
  verb: 'Upload',
  bodyType: 'multipart/form-data',
} as const

const RETURN_METADATA = flag('Return the metadata of the file.')

function uploadRoute({ names }: RouterOptions): BearerRoute {
  const { fileId } = names
  const shape = {
    file: 'file',
    fields: ['tableName', 'columnName', fileId, 'returnFileMetadata'],
    required: ['tableName', 'columnName'],
  }
  return {
    ...UPLOAD,
    path: '/v2/vaults/{vaultID}/files/upload',
    name: 'uploadFile',
    example: fileExamples(names).uploadFile,
    summary: 'Uploads one file to a new or an existing record.',
    description: `The parts can come in any order. A file of over 1 MiB must come after tableName and columnName. Without ${fileId}, the file is that of a new record.`,
    statuses: [400, 401, 404, 422, 500],
    wireNames: { table: 'tableName', column: 'columnName', id: fileId },
    body: z.object({
      tableName: z.string().describe('Name of the table.'),
      columnName: z.string().describe('Name of the file column.'),
      ...namedShape(fileId, z.string().optional().describe('Id of the record. Absent: the file is that of a new record.')),
      file: CONTENT,
      returnFileMetadata: flagMember('Return the metadata of the file.'),
    }),
    response: z.object({
      ...namedShape(fileId, z.string().describe('Id of the record.')),
      fileMetadata: FILE_METADATA.optional().describe('By file column, with returnFileMetadata.'),
    }),
    async handle(call) {
      readQuery({}, call.query())
      const upload = await readMultipart(call.request, shape)
      const { id, fileMetadata } = await stored(call, upload, () => ({
        table: requiredField(upload, 'tableName'),
        column: requiredField(upload, 'columnName'),
        // It can come after the content, and so can the member that asks for the metadata.
        id: upload.fields.get(fileId) ?? (async () => upload.fields.get(fileId)),
        options: { returnFileMetadata: true },
      }))
      return jsonResponse(200, { [fileId]: id, ...(returnsMetadata(upload) ? { fileMetadata } : {}) })
    },
  }
}

function recordUploadRoute({ names }: RouterOptions): BearerRoute {
  return {
    ...UPLOAD,
    path: '/v1/vaults/{vaultID}/{objectName}/{ID}/files',
    name: 'uploadRecordFile',
    example: fileExamples(names).uploadRecordFile,
    summary: 'Uploads one file to a record.',
    description: 'The body has one part. Its key is the column.',
    isDeprecated: true,
    statuses: [400, 401, 422, 500],
    body: z.record(z.string(), CONTENT),
    response: idShape(names.id),
    async handle(call) {
      const { objectName: table = '', ID: id = '' } = call.params
      readQuery({}, call.query())
      const upload = await readMultipart(call.request)
      const record = await stored(call, upload, () => ({ table, column: upload.key, id }))
      // Columns that hold files have no tokens.
      return jsonResponse(200, { [names.id]: record.id, tokens: {} })
    },
  }
}

/** Performs the upload of a body, whose rest is not read if it fails. */
async function stored(
  { session }: AuthenticatedCall,
  upload: MultipartUpload,
  read: () => Omit<OperationInput<'uploadFile'>, 'file' | 'fileName'>,
): Promise<OperationResult<'uploadFile'>> {
  try {
    returnsMetadata(upload)
    const { fileName = '' } = upload
    return await session.perform('uploadFile', { ...read(), file: checkedContent(upload), fileName })
  } finally {
    upload.close()
  }
}

/** Yields the content. Members behind it are checked before the vault takes it for whole. */
async function* checkedContent(upload: MultipartUpload): AsyncGenerator<Uint8Array> {
  yield* upload.content
  returnsMetadata(upload)
}

/** Throws `invalid_request` for a member that is neither true nor false. */
function returnsMetadata({ fields }: MultipartUpload): boolean {
  const name = 'returnFileMetadata'
  return RETURN_METADATA.read([fields.get(name) ?? ''], name, new Map()) ?? false
}

function requiredField({ fields }: MultipartUpload, name: string): string {
  const value = fields.get(name)
  if (value === undefined || value === '') throw new VaultError('invalid_request', `${name} is required.`)
  return value
}
