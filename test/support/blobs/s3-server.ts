/** An S3 server in this process, over HTTP. It lists unfinished uploads, which the server itself cannot, and fails requests on demand. */
import type { S3Client } from '@aws-sdk/client-s3'
import { buildApp } from 'fauxqs'
import { clientOf } from './open-blobs.ts'

/** What a request is answered with in place of its result: a status and a code, or the end of the connection. */
export type RequestFailure = { readonly status: number; readonly code: string } | 'reset'

/** An unfinished upload: its object, and the bytes of its parts. */
interface Upload {
  readonly name: string
  readonly parts: Map<string, number>
}

export interface S3Server {
  readonly url: string
  /** A client of its own connections. */
  client(): S3Client
  /** Decides for each request, named as `PUT /bucket/name?query`, whether it fails. Undefined lets all pass. */
  failWith(decide: ((request: string) => RequestFailure | undefined) | undefined): void
  /** Bytes of an object, or of its unfinished uploads; undefined if there is neither. */
  stored(bucket: string, name: string): Promise<number | undefined>
  /** Number of requests so far. */
  requests(): number
  close(): Promise<void>
}

/** Starts a server with these buckets. */
export async function startS3(...buckets: readonly string[]): Promise<S3Server> {
  const app = buildApp({ logger: false })
  const uploads = new Map<string, Upload>()
  const clients: S3Client[] = []
  let decide: ((request: string) => RequestFailure | undefined) | undefined
  let requests = 0

  app.addHook('onRequest', async (request, reply) => {
    requests++
    const failure = decide?.(`${request.method} ${request.url}`)
    if (failure === 'reset') {
      request.raw.socket.resetAndDestroy()
      return reply.hijack()
    }
    if (failure !== undefined)
      return reply.status(failure.status).type('application/xml').send(`<Error><Code>${failure.code}</Code></Error>`)
    const { pathname, searchParams } = new URL(request.url, 'http://s3')
    if (request.method === 'GET' && searchParams.has('uploads'))
      return reply.type('application/xml').send(listOf(uploads, pathname.replace(/\/$/, ''), searchParams.get('prefix') ?? ''))
  })
  app.addHook('onSend', async (request, reply, payload) => {
    const { pathname, searchParams } = new URL(request.url, 'http://s3')
    const id = searchParams.get('uploadId')
    if (reply.statusCode >= 300) return payload
    if (request.method === 'POST' && searchParams.has('uploads')) {
      const made = /<UploadId>([^<]+)</.exec(String(payload))?.[1]
      if (made !== undefined) uploads.set(made, { name: pathname, parts: new Map() })
    } else if (id !== null && request.method === 'PUT') {
      const length = request.headers['x-amz-decoded-content-length'] ?? request.headers['content-length']
      uploads.get(id)?.parts.set(searchParams.get('partNumber') ?? '', Number(length))
    } else if (id !== null) uploads.delete(id)
    return payload
  })

  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const client = () => {
    const made = clientOf(url)
    clients.push(made)
    return made
  }
  for (const bucket of buckets) await fetch(`${url}/${bucket}`, { method: 'PUT' })
  return {
    url,
    client,
    failWith(decision) {
      decide = decision
    },
    async stored(bucket, name) {
      const path = `/${bucket}/${name}`
      const { headers, ok } = await fetch(url + path, { method: 'HEAD' })
      if (ok) return Number(headers.get('content-length'))
      const sizes = [...uploads.values()].filter((upload) => upload.name === path).flatMap(({ parts }) => [0, ...parts.values()])
      return sizes.length === 0 ? undefined : sizes.reduce((sum, size) => sum + size, 0)
    },
    requests: () => requests,
    async close() {
      for (const each of clients) each.destroy()
      await app.close()
    },
  }
}

/** The answer to ListMultipartUploads. */
function listOf(uploads: ReadonlyMap<string, Upload>, bucket: string, prefix: string): string {
  const found = [...uploads].flatMap(([id, { name }]) => {
    const key = name.slice(bucket.length + 1)
    return name.startsWith(`${bucket}/`) && key.startsWith(prefix) ? [{ id, key }] : []
  })
  const list = found.map(({ id, key }) => `<Upload><Key>${key}</Key><UploadId>${id}</UploadId></Upload>`).join('')
  return `<?xml version="1.0"?><ListMultipartUploadsResult><IsTruncated>false</IsTruncated>${list}</ListMultipartUploadsResult>`
}
