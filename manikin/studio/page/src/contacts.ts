// Contact forces and their friction cones in the viewport, while the why panel is open.

import { ConeGeometry, DoubleSide, Group, Mesh, MeshBasicMaterial, Quaternion, Vector3 } from "three";
import { toView } from "./axes";
import { Arrow, CONTACT, NEWTONS_PER_METRE } from "./marks";
import type { ContactWhy } from "./messages";
import type { Viewport } from "./viewport";

const UP = new Vector3(0, 1, 0);
// how tall a cone is [m]: a little, and more for a strong contact
const CONE = { least: 0.025, more: 0.1, strong: 250 };
// forces below this get no arrow [N]
const LEAST = 1;

class Contact {
  readonly group = new Group();
  private readonly arrow = new Arrow(CONTACT, 0.0045);
  private readonly cone: Mesh<ConeGeometry, MeshBasicMaterial>;

  constructor() {
    // a cone with its tip at the contact, open towards the second body
    const shape = new ConeGeometry(1, 1, 24, 1, true).rotateX(Math.PI).translate(0, 0.5, 0);
    const paint = { color: CONTACT, transparent: true, opacity: 0.24, side: DoubleSide, depthWrite: false, toneMapped: false };
    this.cone = new Mesh(shape, new MeshBasicMaterial(paint));
    this.cone.renderOrder = 3;
    this.group.add(this.cone, this.arrow.group);
  }

  set(contact: ContactWhy): void {
    const point = toView(contact.point);
    this.arrow.set(point, toView(contact.force).divideScalar(NEWTONS_PER_METRE));
    this.cone.position.copy(point);
    this.cone.quaternion.copy(new Quaternion().setFromUnitVectors(UP, toView(contact.normal).normalize()));
    const height = CONE.least + CONE.more * Math.min(1, Math.hypot(...contact.force) / CONE.strong);
    const radius = height * Math.min(contact.friction, 2);
    this.cone.scale.set(radius, height, radius);
  }
}

export class Contacts {
  private readonly pool: Contact[] = [];
  shown = 0;

  constructor(private readonly viewport: Viewport) {}

  set(contacts: ContactWhy[]): void {
    const strong = contacts.filter((c) => Math.hypot(...c.force) >= LEAST);
    while (this.pool.length < strong.length) {
      const contact = new Contact();
      this.pool.push(contact);
      this.viewport.scene.add(contact.group);
    }
    this.pool.forEach((contact, k) => {
      contact.group.visible = k < strong.length;
      if (strong[k]) contact.set(strong[k]);
    });
    this.shown = strong.length;
    this.viewport.invalidate();
  }
}
