/** What the parts of a configuration must be that `strongroom serve` uses. */
import * as z from 'zod'

export const httpShape = z.strictObject({
  baseUrl: z.string().optional(),
  tokenURI: z.union([z.string(), z.array(z.string())], 'must be a text or a list of texts').optional(),
  names: z.record(z.string(), z.string()).optional(),
  legacyTables: z.array(z.string()).optional(),
  limits: z.record(z.string(), z.int()).optional(),
  trustedProxies: z.unknown(),
  forwardedHeader: z.enum(['x-forwarded-for', 'forwarded']).optional(),
})

export const serverShape = z.strictObject({
  port: z.int().min(0).max(65_535).optional(),
  host: z.string().min(1).optional(),
})
