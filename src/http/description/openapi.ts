/** The types of an OpenAPI 3.1 document: the part of it that the description uses. */
import type { JsonSchema } from './json-schema.ts'

/** A document. */
export interface OpenApiDocument {
  readonly openapi: '3.1.1'
  readonly info: { readonly title: string; readonly version: string; readonly summary: string; readonly description: string }
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  /** Operations by path and by method in lower case. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>
    readonly responses: Readonly<Record<string, OpenApiResponse>>
    readonly headers: Readonly<Record<string, OpenApiHeader>>
    readonly securitySchemes: Readonly<Record<string, Readonly<Record<string, string>>>>
  }
  /** The limits that no schema can express, for people and programs. */
  readonly 'x-limits': readonly StatedLimit[]
}

/** A limit. */
export interface StatedLimit {
  readonly limit: string
  readonly value: number
  readonly unit: string
  readonly appliesTo: string
}

/** An operation: one route. */
export interface OpenApiOperation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description?: string
  readonly deprecated?: true
  /** True if the specification does not have it. */
  readonly 'x-own'?: true
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters: readonly OpenApiParameter[]
  readonly requestBody?: { readonly required: boolean; readonly description?: string; readonly content: OpenApiContent }
  readonly responses: Readonly<Record<string, OpenApiResponse | { readonly $ref: string }>>
}

/** A parameter of the path or of the query. */
export interface OpenApiParameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required: boolean
  readonly description: string
  readonly schema: JsonSchema
  readonly example?: unknown
}

/** Bodies by media type. */
export type OpenApiContent = Readonly<Record<string, { readonly schema?: JsonSchema; readonly example?: unknown }>>

/** A response. */
export interface OpenApiResponse {
  readonly description: string
  readonly headers?: Readonly<Record<string, OpenApiHeader | { readonly $ref: string }>>
  readonly content?: OpenApiContent
}

/** A header of a response. */
export interface OpenApiHeader {
  readonly description: string
  readonly required: boolean
  readonly schema: JsonSchema
}
