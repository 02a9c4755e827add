// Zoom and pan: which part of the layout is on screen. Screen = layout × k + (tx, ty), in CSS pixels.
export class View {
  k = 1;
  tx = 0;
  ty = 0;
  private fitK = 1;

  constructor(private width = 0, private height = 0, private contentW = 0, private contentH = 0) {}

  /** New sizes of view and content: everything on screen, or (`keep`) as near as can be to what is on screen now. */
  fit(width: number, height: number, contentW: number, contentH: number, keep = false): void {
    this.width = width;
    this.height = height;
    this.contentW = contentW;
    this.contentH = contentH;
    const zoomed = keep && !this.fitted;
    this.fitK = Math.min(1, width / Math.max(1, contentW), height / Math.max(1, contentH));
    if (zoomed) this.k = Math.max(this.k, this.fitK);
    else {
      this.k = this.fitK;
      this.tx = this.ty = 0;
    }
    this.clamp();
  }

  get fitted(): boolean { return this.k === this.fitK; }

  /** By a factor, with the point (x, y) of the screen kept in place. */
  zoom(factor: number, x = this.width / 2, y = this.height / 2): void {
    const k = Math.min(this.fitK * 16, Math.max(this.fitK, this.k * factor));
    this.tx = x - ((x - this.tx) / this.k) * k;
    this.ty = y - ((y - this.ty) / this.k) * k;
    this.k = k;
    this.clamp();
  }

  pan(dx: number, dy: number): void {
    this.tx += dx;
    this.ty += dy;
    this.clamp();
  }

  /** Pans as little as is needed to have a rectangle of the layout on screen. */
  reveal(x: number, y: number, w: number, h: number): void {
    const left = x * this.k + this.tx;
    const top = y * this.k + this.ty;
    const right = left + w * this.k - this.width;
    const bottom = top + h * this.k - this.height;
    this.pan(left < 0 ? -left : right > 0 ? -Math.min(right, left) : 0, top < 0 ? -top : bottom > 0 ? -Math.min(bottom, top) : 0);
  }

  toLayout(x: number, y: number): [number, number] { return [(x - this.tx) / this.k, (y - this.ty) / this.k]; }

  /** Nothing but the map on screen; one that is narrower than the view is centred. */
  private clamp(): void {
    const spare = this.width - this.contentW * this.k;
    this.tx = spare > 0 ? spare / 2 : Math.max(spare, Math.min(0, this.tx));
    this.ty = Math.max(Math.min(0, this.height - this.contentH * this.k), Math.min(0, this.ty));
  }
}
